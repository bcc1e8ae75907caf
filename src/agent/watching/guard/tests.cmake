# Tests of the guards: with their sources and interposers, and with fakes for what the agent gives them. Their children die,
# fork and fault on purpose, so they are built without sanitizers.
file(GLOB_RECURSE guard_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
file(GLOB_RECURSE guard_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.cc)
list(FILTER guard_sources EXCLUDE REGEX "_test\\.cc$|/testing/")

add_library(diogenes_guard_under_test OBJECT ${guard_sources}
  ${CMAKE_CURRENT_LIST_DIR}/../../hooks/interpose/memory.cc
  ${CMAKE_CURRENT_LIST_DIR}/../../hooks/interpose/threads.cc ${CMAKE_CURRENT_LIST_DIR}/../../hooks/interpose/signals.cc)
target_link_libraries(diogenes_guard_under_test PUBLIC diogenes_settings)
target_compile_options(diogenes_guard_under_test PRIVATE -O2 -fno-exceptions -fno-rtti -fvisibility=hidden
  -fno-threadsafe-statics -ftls-model=initial-exec)

find_package(GTest REQUIRED)
function(diogenes_guard_test source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(guard_${name} ${source} ${ARGN} watching/guard/testing/fakes.cc)
  set_target_properties(guard_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${DIOGENES_OUTPUT}/bin/tests)
  target_link_libraries(guard_${name} PRIVATE diogenes_guard_under_test GTest::gtest GTest::gtest_main
    Threads::Threads ${CMAKE_DL_LIBS})
  add_test(NAME guard_${name} COMMAND guard_${name})
  set_tests_properties(guard_${name} PROPERTIES TIMEOUT 300 LABELS agent)
endfunction()
foreach(source ${guard_tests})
  diogenes_guard_test(${source})
endforeach()
