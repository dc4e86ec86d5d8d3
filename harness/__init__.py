"""Makes things happen on a RocketMQ cluster and writes a run directory. Never imports Spark.

The tour, from what everything rests on to what carries out a plan; imports run the other way:

- ``errors``, ``printable``, ``own_page``, ``clock``, ``wait``, ``signals``, ``limits``, ``program``, ``scratch``, ``paths``: what
  a user is told, text of others made printable, whose requests a page answers, one clock, bounded waits, Ctrl-C, what a shell
  limits, programs for maintainers, folders of a command, where this installation lies
- ``model``: the nouns (cluster, load, fault, claim, scenario, finding) and RocketMQ's own facts, as values
- ``rundir``: the run directory's contract: its layout, its records, how they are written and read
- ``leases``: what runs or is broken on purpose is written down first, and ends even if this program dies
- ``releases``: a release's jars and checksums, Java, what is compiled, what a node's files look like
- ``protocol``: RocketMQ's remoting: frames, requests, deadlines, and the addresses that may be spoken to
- ``host``: this machine: what it can do, its cores, ports, control groups and noise
- ``clients``: the processes under test, in Java and Python, and the recorder that they carry
- ``backends``: where a cluster runs: processes on loopback, or containers
- ``audit``: what of the incidents' causes a running cluster shows
- ``trial``: what a load and a fault are given of the trial that they are part of
- ``generator``: Locust, which paces and counts what a load sends
- ``load``: what a trial's clients do: how they are brought up, checked and drained
- ``faults``: one event a file: what injects it, and what heals it
- ``plan``: from what was asked to what runs when, on how many cores, and how long it takes
- ``run``: deployments, trials and their phases, and what the user sees meanwhile
"""
