/* What one version's headers say of the offsets that layout.h names, one a line. Built by layout_test.sh. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX < 0x03090000
#include "code.h"
#include "internal/pycore_pystate.h"
#define _finalizing finalizing
#else
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#include "frameobject.h"
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif

#define SAY(name, value) printf(#name " %zu\n", (size_t)(value))

int main(void) {
  SAY(finalizing, offsetof(_PyRuntimeState, _finalizing));
  SAY(interpreters, offsetof(_PyRuntimeState, interpreters.head));
  SAY(thread_id, offsetof(PyThreadState, thread_id));
#if PY_VERSION_HEX < 0x030b0000
  SAY(frame, offsetof(PyThreadState, frame));
  SAY(previous, offsetof(PyFrameObject, f_back));
  SAY(code, offsetof(PyFrameObject, f_code));
  SAY(instruction, offsetof(PyFrameObject, f_lasti));
  SAY(name, offsetof(PyCodeObject, co_name));
#else
  SAY(frame, offsetof(PyThreadState, cframe));
  SAY(cframe_frame, offsetof(_PyCFrame, current_frame));
  SAY(previous, offsetof(_PyInterpreterFrame, previous));
  SAY(code, offsetof(_PyInterpreterFrame, f_code));
  SAY(instruction, offsetof(_PyInterpreterFrame, prev_instr));
  SAY(owner, offsetof(_PyInterpreterFrame, owner));
#if PY_VERSION_HEX < 0x030c0000
  SAY(is_entry, offsetof(_PyInterpreterFrame, is_entry));
#endif
  SAY(units, offsetof(PyVarObject, ob_size));
  SAY(instructions, offsetof(PyCodeObject, co_code_adaptive));
  SAY(name, offsetof(PyCodeObject, co_qualname));
#endif
  SAY(type, offsetof(PyObject, ob_type));
  SAY(file, offsetof(PyCodeObject, co_filename));
#if PY_VERSION_HEX < 0x030a0000
  SAY(lines, offsetof(PyCodeObject, co_lnotab));
#else
  SAY(lines, offsetof(PyCodeObject, co_linetable));
#endif
  SAY(first_line, offsetof(PyCodeObject, co_firstlineno));
  SAY(text_length, offsetof(PyASCIIObject, length));
  SAY(text_state, offsetof(PyASCIIObject, state));
  SAY(ascii_bytes, sizeof(PyASCIIObject));
  SAY(compact_bytes, sizeof(PyCompactUnicodeObject));
  SAY(bytes_length, offsetof(PyVarObject, ob_size));
  SAY(bytes_data, offsetof(PyBytesObject, ob_sval));
  return 0;
}
