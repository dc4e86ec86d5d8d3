-- What four of our checkers say of a run's history, in DuckDB: loss, duplicates, order and the longest delay of a message, each by
-- group and queue. `history` has the records of all trials, with the columns of harness/rundir/records.py and `trial`; `store` has
-- a row for each group and queue that can be judged: trial, topic, broker, queue, grp, min_offset, max_offset, told (the
-- group's committed offset), from_ns and to_ns (of the window in which messages were due whose delays count).
--
-- Sets of offsets are kept as bits, 64 to a number; the consumptions are sorted once, in one window.
WITH consumed AS (
    SELECT trial, "group" AS grp, broker, queue, "offset", intended_ns, started_ns,
           max("offset") OVER before AS highest_before
    FROM history
    WHERE type = 'consume'
    WINDOW before AS (
        PARTITION BY trial, "group", broker, queue ORDER BY started_ns, n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
steps AS (
    SELECT c.*, highest_before IS NULL OR "offset" > highest_before AS ahead FROM consumed c
),
chunks AS (
    SELECT trial, grp, broker, queue, "offset" // 64 AS chunk,
           bit_or((1::UBIGINT << ("offset" % 64)::UBIGINT)) AS offsets,
           count(*) AS consumptions,
           count(*) FILTER (ahead) AS ahead,
           max("offset") AS offset_max,
           max(started_ns - intended_ns) FILTER (ahead AND intended_ns BETWEEN s.from_ns AND s.to_ns) AS delay_ns
    FROM steps JOIN store s USING (trial, grp, broker, queue)
    GROUP BY ALL
),
queues AS (
    SELECT trial, grp, broker, queue,
           sum(consumptions) - sum(bit_count(offsets)) AS duplicates,
           sum(bit_count(offsets)) - sum(ahead) AS out_of_order,
           max(offset_max) + 1 AS seen_below,
           max(delay_ns) AS delay_ns
    FROM chunks GROUP BY ALL
),
sent AS (
    SELECT trial, broker, queue, "offset" // 64 AS chunk, bit_or((1::UBIGINT << ("offset" % 64)::UBIGINT)) AS offsets
    FROM history
    WHERE type = 'send' AND outcome = 'ok' AND "offset" IS NOT NULL
    GROUP BY ALL
),
missing AS (
    SELECT s.trial, st.grp, s.broker, s.queue, s.chunk * 64 + bit AS "offset", st.min_offset, st.max_offset,
           greatest(coalesce(q.seen_below, 0), coalesce(st.told, 0)) AS seen_below
    FROM sent s
    JOIN store st USING (trial, broker, queue)
    LEFT JOIN chunks c ON (c.trial, c.grp, c.broker, c.queue, c.chunk) = (s.trial, st.grp, s.broker, s.queue, s.chunk)
    LEFT JOIN queues q ON (q.trial, q.grp, q.broker, q.queue) = (s.trial, st.grp, s.broker, s.queue)
    CROSS JOIN range(64) bits(bit)
    WHERE (s.offsets & ~coalesce(c.offsets, 0::UBIGINT)) != 0
      AND ((s.offsets & ~coalesce(c.offsets, 0::UBIGINT)) >> bit::UBIGINT) & 1 = 1
),
lost AS (
    SELECT trial, grp, broker, queue, count(*) AS lost
    FROM missing
    WHERE "offset" >= max_offset OR ("offset" >= min_offset AND "offset" < seen_below)
    GROUP BY ALL
)
SELECT s.trial, s.grp, s.broker, s.queue, coalesce(l.lost, 0) AS lost, q.duplicates, q.out_of_order, q.delay_ns
FROM store s
LEFT JOIN queues q USING (trial, grp, broker, queue)
LEFT JOIN lost l USING (trial, grp, broker, queue)
ORDER BY ALL
