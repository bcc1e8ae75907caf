// See thunk.h. In: r11 = Hook*. A call is counted where there are windows; between them it jumps straight on. Everything a
// caller can see is kept: argument registers, rax (vector count of variadic calls), r10 (static chain), the stack arguments;
// rbx, rbp, r12 to r15 by C++'s own rules.
        .intel_syntax noprefix
        .text
        .p2align 4
        .globl  diogenes_thunk
        .hidden diogenes_thunk
        .hidden diogenes_on_enter
        .hidden diogenes_on_exit
        .type   diogenes_thunk, @function
        .set    FRAME, 464
        .set    STACK_WORDS, 12      // no driver function has more stack arguments
diogenes_thunk:
        .cfi_startproc
        push    rax
        .cfi_def_cfa_offset 16
        mov     rax, [r11 + 16]
        test    rax, rax
        jz      1f
        inc     QWORD PTR [rax]
1:      mov     rax, [rip + diogenes_gate]
        cmp     QWORD PTR [rax], 0
        pop     rax
        .cfi_def_cfa_offset 8
        jne     .Lask
        cmp     BYTE PTR [r11 + 10], 0
        jne     .Lask
        mov     r11, [r11]
        jmp     r11
.Lask:
        push    rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov     rbp, rsp
        .cfi_def_cfa_register rbp
        sub     rsp, FRAME
        and     rsp, -16
        mov     [rsp], rdi
        mov     [rsp + 8], rsi
        mov     [rsp + 16], rdx
        mov     [rsp + 24], rcx
        mov     [rsp + 32], r8
        mov     [rsp + 40], r9
        mov     [rsp + 48], rax
        mov     [rsp + 64], r11
        mov     [rsp + 80], r10
        lea     rax, [rbp + 8]
        mov     [rsp + 72], rax
        movaps  [rsp + 96], xmm0
        movaps  [rsp + 112], xmm1
        movaps  [rsp + 128], xmm2
        movaps  [rsp + 144], xmm3
        movaps  [rsp + 160], xmm4
        movaps  [rsp + 176], xmm5
        movaps  [rsp + 192], xmm6
        movaps  [rsp + 208], xmm7
        mov     rdi, rsp
        call    diogenes_on_enter
        cmp     eax, 3
        je      .Lnot_made
        mov     [rsp + 240], eax
.Lmake:
        mov     r11, [rsp + 64]
        mov     r11, [r11]
        cmp     DWORD PTR [rsp + 240], 1
        mov     rdi, [rsp]
        mov     rsi, [rsp + 8]
        mov     rdx, [rsp + 16]
        mov     rcx, [rsp + 24]
        mov     r8, [rsp + 32]
        mov     r9, [rsp + 40]
        mov     r10, [rsp + 80]
        movaps  xmm0, [rsp + 96]
        movaps  xmm1, [rsp + 112]
        movaps  xmm2, [rsp + 128]
        movaps  xmm3, [rsp + 144]
        movaps  xmm4, [rsp + 160]
        movaps  xmm5, [rsp + 176]
        movaps  xmm6, [rsp + 192]
        movaps  xmm7, [rsp + 208]
        mov     rax, [rsp + 48]
        jb      .Lpass
        ja      .Lat_top

        // The stack arguments again, under our frame. rsp stays a multiple of 16: 12 words.
        .irp    offset, 104, 96, 88, 80, 72, 64, 56, 48, 40, 32, 24, 16
        push    QWORD PTR [rbp + \offset]
        .endr
.Lcall:
        call    r11
        add     rsp, 8 * STACK_WORDS
        mov     [rsp + 56], rax
        mov     [rsp + 88], rdx
        movaps  [rsp + 224], xmm0
        mov     rdi, rsp
        call    diogenes_on_exit
        test    al, al
        jnz     .Lmake
        mov     rax, [rsp + 56]
        mov     rdx, [rsp + 88]
        movaps  xmm0, [rsp + 224]
        leave
        .cfi_remember_state
        .cfi_def_cfa rsp, 8
        .cfi_restore rbp
        ret
.Lat_top:
        // The stack ends with the return address's page: no argument lies behind it.
        .cfi_restore_state
        .cfi_remember_state
        lea     r11, [rbp + 8]
        or      r11, 4095
        sub     r11, rbp
        .irp    offset, 104, 96, 88, 80, 72, 64, 56, 48, 40, 32, 24, 16
        cmp     r11, \offset
        jb      1f
        push    QWORD PTR [rbp + \offset]
        jmp     2f
1:      push    0
2:
        .endr
        mov     r11, [rsp + 8 * STACK_WORDS + 64]
        mov     r11, [r11]
        jmp     .Lcall
.Lpass:
        .cfi_restore_state
        .cfi_remember_state
        leave
        .cfi_def_cfa rsp, 8
        .cfi_restore rbp
        jmp     r11
.Lnot_made:
        .cfi_restore_state
        mov     rax, [rsp + 56]
        leave
        .cfi_def_cfa rsp, 8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   diogenes_thunk, . - diogenes_thunk
        .globl  diogenes_thunk_end
        .hidden diogenes_thunk_end
diogenes_thunk_end:

        .data
        .p2align 3
        .globl  diogenes_gate
        .hidden diogenes_gate
diogenes_gate:
        .quad   diogenes_gate
        .section .note.GNU-stack, "", @progbits
