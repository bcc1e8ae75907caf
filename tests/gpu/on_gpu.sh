#!/bin/sh
# on_gpu.sh COMMAND...: runs it where there is an NVIDIA GPU; elsewhere says so and exits 77, which ctest takes for 'skipped'.
if [ ! -e /dev/nvidiactl ]; then
  echo "skipped: no NVIDIA GPU on this machine (no /dev/nvidiactl)"
  exit 77
fi
exec "$@"
