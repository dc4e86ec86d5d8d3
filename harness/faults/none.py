"""No fault: the control."""

from harness.model.faults import NoFault
from harness.trial import Injected, Injection, Injections

INJECTIONS: Injections = {NoFault: Injection(name="none", inject=lambda fault, trial, load: Injected())}
