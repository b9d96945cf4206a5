"""The log: one table of what happened in the runtime, and what is read from it.

`rows.py` is what a row stands for, and how the road appends one. `memory.py` does the same for the entries of the
allocators' journals. Rows wait in a flat list that every listener owns; `listeners.py` says who has one. From time to
time, `recorder.py` turns waiting rows into a block of a columnar table (`table.py`): numbers and times in NumPy
arrays, and an index of a fact, which is stored once per block. A fact of an op is its subject (op, device, reason,
shapes) and the program line; a fact of a piece of memory is its region, size of the pool and label. A row takes 44
bytes. Events (`events.py`) are views of rows: `sequence.py` creates them when they are read. Other queries read the
columns and create no events: `totals.py` counts, `queries.py` lists the work and the program lines, and `density.py`
sums up what was dropped. `clock.py` computes the modelled times when rows enter the table.
"""
