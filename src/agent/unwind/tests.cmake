# Built as the agent is, and each table of functions with options that lay frames out differently.
set(unwind_testing unwind/testing/plain_calls.cc unwind/testing/unoptimized_calls.cc
  unwind/testing/frame_pointer_calls.cc unwind/testing/small_calls.cc)
set_source_files_properties(unwind/testing/plain_calls.cc PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all")
set_source_files_properties(unwind/testing/unoptimized_calls.cc PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=all")
set_source_files_properties(unwind/testing/frame_pointer_calls.cc PROPERTIES COMPILE_OPTIONS
  "-O3;-mavx2;-fno-omit-frame-pointer;-fno-sanitize=all")
set_source_files_properties(unwind/testing/small_calls.cc PROPERTIES COMPILE_OPTIONS "-Os;-fno-sanitize=all")
diogenes_test(agent_unwind_test SOURCES unwind/walker_test.cc unwind/walker.cc unwind/frame_rule.cc unwind/known_walks.cc ${unwind_testing}
  LINK Threads::Threads)
diogenes_test(agent_find_object_test SOURCES unwind/find_object_test.cc unwind/find_object.cc elf_image.cc)
