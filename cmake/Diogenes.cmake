# Settings that every folder shares, and the functions with which a folder declares its target, tests and benchmarks.
include(GNUInstallDirs)
find_package(Threads REQUIRED)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# Where things land: bin/diogenes, lib/, libexec/, share/; the release preset points this at build/ itself.
set(DIOGENES_OUTPUT ${CMAKE_BINARY_DIR} CACHE PATH "folder that gets bin/, lib/, libexec/ and share/")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${DIOGENES_OUTPUT}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${DIOGENES_OUTPUT}/lib)

add_library(diogenes_settings INTERFACE)
target_include_directories(diogenes_settings INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(diogenes_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror>
  -fno-omit-frame-pointer)

set(DIOGENES_SANITIZE "" CACHE STRING "address, thread or undefined: for what runs outside a target")
if(DIOGENES_SANITIZE)
  # The agent and the simulated driver live in other processes' address space and are built without.
  add_library(diogenes_sanitize INTERFACE)
  target_compile_options(diogenes_sanitize INTERFACE -fsanitize=${DIOGENES_SANITIZE} -fno-sanitize-recover=all)
  # GCC 12 takes the library's own regex for uninitialized under these.
  target_compile_options(diogenes_sanitize INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  target_link_options(diogenes_sanitize INTERFACE -fsanitize=${DIOGENES_SANITIZE})
else()
  add_library(diogenes_sanitize INTERFACE)
endif()

# A whole build takes about half the time so. Not where single files are changed and built again and again (preset dev).
option(DIOGENES_UNITY "compile several sources of a library of src/ as one" ON)
function(diogenes_as_one name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${DIOGENES_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# What serves tests, and command lines: it compiles in half the time so.
function(diogenes_need_not_be_fast)
  foreach(name ${ARGN})
    target_compile_options(${name} PRIVATE -O0 -g1)
  endforeach()
endfunction()

# diogenes_library(NAME SOURCES... LINK libs...): a folder's library, outside the target process.
function(diogenes_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -g1)
  # Not one of tests/ or bench/, wherever the checkout lies.
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/src/" at)
  if(at EQUAL 0)
    diogenes_as_one(${name})
  else()
    diogenes_need_not_be_fast(${name})
  endif()
  target_link_libraries(${name} PUBLIC diogenes_settings diogenes_sanitize ${ARG_LINK})
endfunction()

# ./check builds and runs these once, with sanitizers (ci/sanitize.sh), in place of twice.
option(DIOGENES_TESTS_OUTSIDE "tests of what runs outside a target" ON)
# diogenes_add_outside(NAME COMMAND...): a test of that kind, label 'outside'.
function(diogenes_add_outside name)
  if(DIOGENES_TESTS_OUTSIDE)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200 LABELS outside)  # with sanitizers, on a busy machine
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

# diogenes_test(NAME SOURCES... LINK libs... [LABELS ...]): a GoogleTest program beside what it tests.
function(diogenes_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${DIOGENES_OUTPUT}/bin/tests)
  target_link_libraries(${name} PRIVATE diogenes_settings diogenes_sanitize ${ARG_LINK} GTest::gtest_main)
  diogenes_need_not_be_fast(${name})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/src/(base|driver|ffm|trace|analysis|views|launcher)$")
    diogenes_add_outside(${name} ${name})
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}")
endfunction()
