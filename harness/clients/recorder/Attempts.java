package mqlab;

import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Records each attempt to send a message, with the broker's address, and each answer to one.
 *
 * <p>A send may take several attempts; what it records of itself is only its end. The message is told by its own body.
 * The clients of 4.x give this hook no answer to an asynchronous request.
 */
public final class Attempts implements RPCHook {
    /** SEND_MESSAGE and SEND_MESSAGE_V2 of RequestCode. */
    private static final int SEND = 10;
    private static final int SEND_V2 = 310;
    private static final byte[] ANY_RUN = new byte[0];
    private static final byte[] SEQ = Record.field("seq");
    private static final byte[] AT_NS = Record.field("at_ns");
    private static final byte[] ADDRESS = Record.field("address");

    private volatile History history;

    /** Where records go from now on; null records nothing. */
    public void setHistory(History history) {
        this.history = history;
    }

    public void doBeforeRequest(String remoteAddr, RemotingCommand request) {
        write("attempt", remoteAddr, request, null);
    }

    public void doAfterResponse(String remoteAddr, RemotingCommand request, RemotingCommand response) {
        if (response != null) {
            write("answer", remoteAddr, request, response);
        }
    }

    private void write(String type, String address, RemotingCommand request, RemotingCommand response) {
        History now = history;
        if (now == null || request.getBody() == null || request.getCode() != SEND && request.getCode() != SEND_V2) {
            return;
        }
        long[] message = Body.read(request.getBody(), ANY_RUN);
        if (message == null) {
            return;
        }
        Record record = History.begin(now.prefix(type)).number(SEQ, message[0]).text(ADDRESS, address)
            .number(AT_NS, System.nanoTime());
        if (response != null) {
            record.number("code", response.getCode()).text("remark", response.getRemark());
        }
        now.write(record);
    }
}
