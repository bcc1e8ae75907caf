# Included by the agent's CMakeLists.txt: what the collector of facts decides about guards, with the guards replaced.
diogenes_test(agent_facts_test SOURCES
  watching/facts/ranges/dirty_ranges_test.cc watching/facts/ranges/range_filter_test.cc
  watching/facts/ranges/dirty_ranges.cc
  watching/facts/ranges/driver_memory_test.cc watching/facts/ranges/driver_memory.cc
  watching/facts/decoding/operands_test.cc watching/facts/decoding/operands.cc
  core/memory/address_bounds.cc core/memory/mappings.cc LINK diogenes_trace)

# The collector outside a target, with the agent's other parts replaced.
diogenes_test(agent_collector_test SOURCES
  watching/facts/fact_collector_test.cc watching/facts/left_out_test.cc watching/facts/fact_collector.cc
  watching/facts/allocations.cc watching/facts/facts_state.cc
  watching/facts/context_numbers.cc
  watching/facts/content/found_addresses_test.cc watching/facts/content/transfer_contents_test.cc watching/facts/content/transfer_contents.cc
  watching/facts/content/found_addresses.cc watching/facts/content/readbacks.cc watching/facts/content/uploads.cc
  watching/facts/decoding/graph_operands_test.cc watching/facts/decoding/kernel_operands_test.cc
  watching/facts/decoding/decode.cc watching/facts/decoding/decoded_call.cc watching/facts/decoding/graph_operands.cc
  watching/facts/decoding/graph_reader.cc watching/facts/decoding/graph_table.cc
  watching/facts/decoding/kernel_operands.cc watching/facts/decoding/operands.cc watching/facts/decoding/transfer_operands.cc
  watching/facts/testing/collected_program.cc
  watching/facts/ranges/dirty_ranges.cc watching/facts/ranges/driver_memory.cc
  core/memory/address_bounds.cc core/memory/content.cc core/memory/content_avx2.cc
  core/memory/kernel_arguments.cc core/memory/mappings.cc
  core/calls/arguments.cc core/calls/stream_numbers.cc LINK diogenes_driver)
target_include_directories(agent_collector_test PRIVATE ${XXHASH_INCLUDE})
