"""The REST client: ``connect("rest", {"uri": "https://host:2333/prefix"})`` on a server of the Lance REST spec."""
