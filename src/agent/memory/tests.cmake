# Included by the agent's CMakeLists.txt.
diogenes_test(agent_memory_test SOURCES memory/memory_test.cc memory/address_bounds.cc memory/regions.cc memory/content.cc memory/copy.cc)
target_include_directories(agent_memory_test PRIVATE ${XXHASH_INCLUDE})
