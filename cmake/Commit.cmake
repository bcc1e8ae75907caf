# Writes OUTPUT, a header with the commit that SOURCE is at, if that is known. A header that would stay the same is left alone,
# so that nothing is compiled again.
set(commit "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${head}")
    execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD ERROR_QUIET RESULT_VARIABLE changed)
    if(changed)
      set(commit "${head}, with changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\ninline constexpr const char* kCommit = \"@commit@\";\n" @ONLY)
