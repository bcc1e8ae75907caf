# Included by the agent's CMakeLists.txt.
set_source_files_properties(core/memory/content_avx2.cc ${CMAKE_CURRENT_LIST_DIR}/content_avx2.cc PROPERTIES
  COMPILE_OPTIONS "-mavx2;-Wno-old-style-cast")

diogenes_test(agent_memory_test SOURCES
  core/memory/memory_test.cc core/memory/address_bounds.cc core/memory/mappings.cc core/memory/content.cc
  core/memory/content_avx2.cc)
target_include_directories(agent_memory_test PRIVATE ${XXHASH_INCLUDE})
