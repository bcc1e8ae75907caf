# Included by the agent's CMakeLists.txt.
set_source_files_properties(necessity/transfers/content_avx2.cc ${CMAKE_CURRENT_LIST_DIR}/transfers/content_avx2.cc PROPERTIES
  COMPILE_OPTIONS "-mavx2;-Wno-old-style-cast")

# The necessity collector outside a target, with the agent's other parts replaced.
file(GLOB necessity_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc ${CMAKE_CURRENT_LIST_DIR}/*/*.cc)
file(GLOB necessity_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.cc ${CMAKE_CURRENT_LIST_DIR}/*/*_test.cc)
list(FILTER necessity_sources EXCLUDE REGEX "_test\\.cc$")
diogenes_test(agent_necessity_test SOURCES ${necessity_sources} ${necessity_tests} arguments.cc
  guard/watch_pieces.cc)
target_include_directories(agent_necessity_test PRIVATE ${XXHASH_INCLUDE})
