"""The shapes of a cluster that can be asked for by name. Each without a proxy has a file of that name in ``compose/``."""

from collections.abc import Mapping

from harness.model.cluster import Topology

TOPOLOGIES: Mapping[str, Topology] = {
    topology.name: topology
    for topology in (
        Topology(name="single"),
        Topology(name="two-masters", masters=2),
        Topology(name="three-masters", masters=3),
        Topology(name="article", name_servers=3, masters=2, slaves_per_master=1),
        Topology(name="proxy", proxies=1),
        Topology(name="dledger", slaves_per_master=2, elects="dledger"),
        Topology(name="controller", name_servers=3, slaves_per_master=2, elects="controller"),
    )
}
