# Target `portable`: a folder (and a .tar.gz of it) that runs on another x86-64 Linux with nothing installed there.
add_custom_target(portable
  COMMAND ${CMAKE_SOURCE_DIR}/ci/portable.sh ${DIOGENES_OUTPUT} ${PROJECT_VERSION}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  USES_TERMINAL VERBATIM)
# The same and the test programs, with the scripts that run them: for a machine with a GPU, or with many cores.
add_custom_target(portable-tests
  COMMAND ${CMAKE_SOURCE_DIR}/ci/portable.sh ${DIOGENES_OUTPUT} ${PROJECT_VERSION} tests
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  USES_TERMINAL VERBATIM)
# Everything that lands in bin/, lib/ and libexec/, so that the pack is never older than the tree.
foreach(part diogenes diogenes_agent diogenes_gpu_times diogenes_gpu_samples diogenes_python diogenes_values diogenes_prove diogenes_simulated_driver diogenes_discover diogenes-discover examples thrust_example bench_benefit bench_accuracy bench_schedule)
  if(TARGET ${part})
    add_dependencies(portable ${part})
    add_dependencies(portable-tests ${part})
  endif()
endforeach()
# All programs of the tests and benchmarks, wherever they are declared.
function(programs_below folder output)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(children DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(child ${children})
    programs_below(${child} below)
    list(APPEND targets ${below})
  endforeach()
  list(FILTER targets EXCLUDE REGEX "_test$")
  set(${output} ${targets} PARENT_SCOPE)
endfunction()
foreach(folder tests bench)
  programs_below(${CMAKE_SOURCE_DIR}/${folder} targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|MODULE")
      add_dependencies(portable-tests ${target})
    endif()
  endforeach()
endforeach()
