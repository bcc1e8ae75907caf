# Included by the agent's CMakeLists.txt: what the collector of facts decides about guards, with the guards replaced.
diogenes_test(agent_facts_test SOURCES facts/dirty_ranges_test.cc facts/dirty_ranges.cc facts/operands_test.cc
  facts/operands.cc facts/host_words_test.cc facts/memory_map_test.cc facts/memory_map.cc
  memory/address_bounds.cc LINK diogenes_trace)
