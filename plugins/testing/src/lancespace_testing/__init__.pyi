from .client import raises as raises
from .fixtures import BackendFixtures as BackendFixtures
from .requirements import Feature as Feature
from .requirements import covers as covers
from .requirements import for_each as for_each
from .requirements import needs as needs
from .storage import StorageConformance as StorageConformance
from .suite import Conformance as Conformance
