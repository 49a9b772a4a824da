"""The ``__manifest`` table: the catalog of namespaces and tables of a V2 directory, kept as a Lance table.

=============  ==========================================================================================
schema.py      what is in it: columns, entries, feature flags
segments.py    the rows of one fragment, in memory
index.py       all entries by identifier, in memory
reader.py      the table at its latest version, taken in incrementally
drafts.py      changes that a mutation wants, before they are committed
writer.py      one commit: a compare-and-swap on the table
committer.py   many callers, one commit: group commit and retries
upkeep.py      few fragments, an index and few old versions, as the catalog goes
=============  ==========================================================================================
"""
