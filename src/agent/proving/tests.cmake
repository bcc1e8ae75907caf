# Included by the agent's CMakeLists.txt.
diogenes_test(agent_proving_test SOURCES
  proving/deferred_ranges_test.cc proving/deferred_ranges.cc
  proving/unwritten_sources_test.cc proving/unwritten_sources.cc
  proving/corrected_transfers_test.cc proving/corrected_transfers.cc LINK diogenes_trace)

# With the guards, as their own tests are (watching/guard/tests.cmake).
diogenes_guard_test(proving/deferred_guards_test.cc proving/deferred_guards.cc)
