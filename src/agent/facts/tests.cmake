# Included by the agent's CMakeLists.txt: what the collector of facts decides about guards, with the guards replaced.
diogenes_test(agent_facts_test SOURCES facts/dirty_ranges_test.cc facts/deferred_ranges_test.cc facts/corrected_transfers_test.cc facts/corrected_transfers.cc facts/deferred_ranges.cc
  facts/dirty_ranges.cc facts/sampling_test.cc
  facts/sampling.cc facts/operands_test.cc
  facts/operands.cc facts/host_words_test.cc facts/memory_map_test.cc facts/memory_map.cc
  memory/address_bounds.cc memory/regions.cc LINK diogenes_trace)

# The collector outside a target, with the agent's other parts replaced.
diogenes_test(agent_collector_test SOURCES facts/collector_test.cc facts/contents_test.cc facts/left_out_test.cc
  facts/graphs_test.cc facts/kernels_test.cc
  facts/testing/program.cc facts/collector.cc facts/contents.cc facts/decode.cc facts/corrected_transfers.cc facts/deferred_ranges.cc facts/dirty_ranges.cc
  facts/graph_operands.cc facts/graph_reader.cc facts/kernel_operands.cc facts/memory_map.cc facts/names.cc
  facts/operands.cc facts/readbacks.cc facts/sampling.cc facts/sides.cc memory/address_bounds.cc memory/content.cc
  memory/content_avx2.cc memory/copy.cc memory/kernel_arguments.cc memory/regions.cc arguments.cc objects.cc LINK diogenes_driver)
target_include_directories(agent_collector_test PRIVATE ${XXHASH_INCLUDE})
