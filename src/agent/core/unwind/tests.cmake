# Built as the agent is, and each table of functions with options that lay frames out differently.
set(unwind_testing core/unwind/testing/plain_calls.cc core/unwind/testing/unoptimized_calls.cc
  core/unwind/testing/frame_pointer_calls.cc core/unwind/testing/small_calls.cc)
set_source_files_properties(core/unwind/testing/plain_calls.cc PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all")
set_source_files_properties(core/unwind/testing/unoptimized_calls.cc PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=all")
set_source_files_properties(core/unwind/testing/frame_pointer_calls.cc PROPERTIES COMPILE_OPTIONS
  "-O3;-mavx2;-fno-omit-frame-pointer;-fno-sanitize=all")
set_source_files_properties(core/unwind/testing/small_calls.cc PROPERTIES COMPILE_OPTIONS "-Os;-fno-sanitize=all")
diogenes_test(agent_unwind_test SOURCES
  core/unwind/walker_test.cc core/unwind/walker.cc core/unwind/frame_rule.cc core/unwind/known_walks.cc ${unwind_testing}
  LINK Threads::Threads)
diogenes_test(agent_find_object_test SOURCES core/unwind/find_object_test.cc core/unwind/find_object.cc core/recording/elf_image.cc)
