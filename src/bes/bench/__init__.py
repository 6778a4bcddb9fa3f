"""The paper's experiments: suites of runs, a store, statistics, tables and figures."""
