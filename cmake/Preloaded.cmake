# diogenes_preloaded(TARGET OUTPUT_NAME SOURCE...): a library that is preloaded into other people's programs. It has no C++ runtime,
# and exports what is marked. It is built without sanitizers, and optimised in every build: hooks are hot.
function(diogenes_preloaded target output_name)
  add_library(${target} MODULE ${ARGN})
  diogenes_preloaded_code(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output_name} LINKER_LANGUAGE C)
  target_link_options(${target} PRIVATE -static-libgcc -Wl,--build-id -Wl,-z,now,-z,relro,-z,nodelete -Wl,--no-undefined
    -Wl,-Bsymbolic)
  diogenes_for_old_glibc(${target})
endfunction()

# Code of such libraries: also of objects that several of them share.
function(diogenes_preloaded_code target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -fno-exceptions -fno-rtti
      -fvisibility=hidden -fvisibility-inlines-hidden -fno-threadsafe-statics -O2 -g -ftls-model=initial-exec>)
endfunction()

# diogenes_for_old_glibc(TARGET): what is preloaded has to load wherever the measured program does, from glibc 2.28 on. Since 2.32 to
# 2.34 these functions lie in libc and are linked in that version; an older libc has them in libpthread and libdl. Both still have
# the old versions. So the target is linked with stand-ins of the two old libraries first, which name those.
set(old_glibc_pthread 2.2.5 __pthread_key_create pthread_attr_getstacksize pthread_condattr_getpshared pthread_create pthread_detach
  pthread_getspecific pthread_join pthread_key_create pthread_once pthread_setspecific pthread_sigmask sem_getvalue
  2.3.3 pthread_barrierattr_getpshared)
set(old_glibc_dl 2.2.5 dladdr dlopen dlsym dlvsym)

function(old_glibc_stand_in name soname)
  set(code "")
  set(versions "")
  set(before "")
  foreach(word ${ARGN})
    if(word MATCHES "^[0-9.]+$")
      string(APPEND versions "${before}GLIBC_${word} { global:")
      set(before " };\n")
    else()
      string(APPEND code ".globl ${word}\n.type ${word}, @function\n${word}: ret\n")
      string(APPEND versions " ${word};")
    endif()
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/old_glibc)
  file(CONFIGURE OUTPUT ${folder}/${name}.S CONTENT ".text\n${code}.section .note.GNU-stack, \"\", @progbits\n")
  file(CONFIGURE OUTPUT ${folder}/${name}.map CONTENT "${versions} };\n")
  add_library(old_glibc_${name} SHARED ${folder}/${name}.S)
  set_target_properties(old_glibc_${name} PROPERTIES LINKER_LANGUAGE C NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${folder})
  target_link_options(old_glibc_${name} PRIVATE -nostdlib -Wl,-soname,${soname}
    -Wl,--version-script=${folder}/${name}.map)
endfunction()
old_glibc_stand_in(pthread libpthread.so.0 ${old_glibc_pthread})
old_glibc_stand_in(dl libdl.so.2 ${old_glibc_dl})

function(diogenes_for_old_glibc target)
  target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed old_glibc_pthread old_glibc_dl -Wl,--pop-state)
endfunction()
