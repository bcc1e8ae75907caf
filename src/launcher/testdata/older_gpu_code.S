/* GPU code as nvcc leaves it in a program that was compiled for sm_70, with PTX: one container, two entries of 64 bytes
   of header and 16 of code, which nothing runs (analysis/program/gpu_code.h). */
  .section .nv_fatbin,"a",@progbits
  .p2align 3
  .long 0xba55ed50
  .short 1, 16
  .quad 2f - 1f
1:
  .macro code kind
  .short \kind, 0x101
  .long 64
  .quad 16, 0
  .short 1, 8
  .long 70
  .quad 0, 0x11, 0, 0  /* the header ends */
  .quad 0, 0
  .endm
  code 2
  code 1
2:
  .section .note.GNU-stack,"",@progbits
