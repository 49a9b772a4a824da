"""The ``__manifest`` table: the catalog of namespaces and tables of a V2 directory, kept as a Lance table.

===============  ========================================================================================
schema.py        what is in it: columns, entries, feature flags, filters
segments.py      the rows of one fragment, in memory
index.py         all entries in memory: by identifier, and in order
versions.py      the files of the table's versions: looking for one, reading one, putting the next
snapshots.py     what is in such a file, and the file of the next version
fragments.py     fragments as such a file has them
protobuf.py      the format in which it has them
reader.py        the table at its latest version, taken in incrementally
drafts.py        changes that a mutation wants, before they are committed
plans.py         what a commit does to which fragment
writer.py        one commit: a compare-and-swap on the table
data_files.py   new rows as a data file
commit_queue.py  processes on one machine queue for commits
committer.py     many callers, one commit: group commit and retries
upkeep.py        few fragments and an index, as the catalog goes
cleanup.py       what old versions alone need is deleted
===============  ========================================================================================
"""
