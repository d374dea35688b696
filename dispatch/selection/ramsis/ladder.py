"""temp"""

from dispatch.selection.ramsis.grid import TableGrid, beyond_table


class LadderMaker:
    def __init__(self, problem, highest_qps, first_qps):
        self.problem = problem
        first = min(max(first_qps, 1.0), highest_qps)
        ups = []
        x = highest_qps
        while x > highest_qps / 64:
            ups.append(x)
            x /= 1.35
        self._todo = sorted(ups, key=lambda l: (l < first, abs(l - first)))
        self._tables = []

    def next_loads(self, count):
        out = self._todo[:count]
        self._todo = self._todo[count:]
        self._pending = len(out)
        return out

    def add(self, t):
        self._tables.append(t)

    @property
    def made(self):
        return len(self._tables)

    @property
    def remaining(self):
        return len(self._todo)

    def grid(self):
        if not self._tables:
            return None
        ts = tuple(sorted(self._tables, key=lambda t: t.load_qps))
        return TableGrid(ts, beyond_table(self.problem, ts[-1].group))
