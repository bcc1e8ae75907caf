# Included by the agent's CMakeLists.txt.
set_source_files_properties(memory/content_avx2.cc ${CMAKE_CURRENT_LIST_DIR}/content_avx2.cc PROPERTIES
  COMPILE_OPTIONS "-mavx2;-Wno-old-style-cast")

diogenes_test(agent_memory_test SOURCES memory/memory_test.cc memory/address_bounds.cc memory/regions.cc memory/content.cc
  memory/content_avx2.cc memory/copy.cc)
target_include_directories(agent_memory_test PRIVATE ${XXHASH_INCLUDE})
