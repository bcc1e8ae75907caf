// A small library for the tests of image and hook_planner: functions whose first instructions are hard to
// move. Written in assembly, because a compiler would not give the same bytes twice. Each takes and returns a
// long.
extern "C" {
long subject_counter = 40;
long subject_helper(long value) { return value * 3 + 1; }
}

#define FUNCTION(name, body)                                                       \
  asm(".text\n .p2align 4\n .globl " #name "\n .type " #name ", @function\n" #name \
      ":\n .cfi_startproc\n" body "\n .cfi_endproc\n .size " #name ", . - " #name "\n")

// endbr64 and a frame.
FUNCTION(subject_endbr,
         "endbr64; push %rbp; .cfi_def_cfa_offset 16; mov %rsp,%rbp; lea 7(%rdi),%rax; pop %rbp; ret");
// The driver's debug check: cmpl $imm32, disp(%rip) with the immediate behind the displacement.
FUNCTION(subject_debug_check,
         "push %rbx; .cfi_def_cfa_offset 16; cmpl $0x12345678,subject_word(%rip); mov %rdi,%rax; je 1f;"
         "add $100,%rax; 1: pop %rbx; ret");
// The check alone: the displaced bytes are one instruction of 10.
FUNCTION(subject_compare_first,
         "cmpl $0x12345678,subject_word(%rip); sete %al; movzbl %al,%eax; add %rdi,%rax; ret");
FUNCTION(subject_lea, "lea subject_word(%rip),%rax; movl (%rax),%eax; add %rdi,%rax; ret");
// A short conditional branch in the first bytes, taken and not taken.
FUNCTION(subject_short_jcc, "test %rdi,%rdi; js 1f; lea 1(%rdi),%rax; ret; 1: mov %rdi,%rax; neg %rax; ret");
FUNCTION(subject_jcc_first, "cmp $5,%rdi; jbe 1f; mov $77,%eax; ret; 1: lea (%rdi,%rdi),%rax; ret");
// A near conditional branch to another place.
FUNCTION(subject_long_jcc,
         "test %rdi,%rdi; .byte 0x0f,0x84; .long 1f - . - 4; lea 2(%rdi),%rax; ret; 1: mov $9,%eax; ret");
// A call in the first bytes.
FUNCTION(subject_call, "push %rbx; .cfi_def_cfa_offset 16; call subject_inner; pop %rbx; ret");
asm(".text\n .p2align 4\nsubject_inner:\n .cfi_startproc\n lea 11(%rdi),%rax\n ret\n .cfi_endproc\n");
// Tail jumps: long (exactly five bytes), short (with more code behind it), through memory.
FUNCTION(subject_tail_jump, ".byte 0xe9; .long subject_inner - . - 4");
FUNCTION(subject_prepared_tail, "add $1,%rdi; jmp subject_inner");
FUNCTION(subject_tail_memory, "jmp *subject_pointer(%rip)");
// Ends before five bytes, padding behind it (.p2align fills with nop).
FUNCTION(subject_tiny, "mov %rdi,%rax; ret");
FUNCTION(subject_exact, "lea 3(%rdi),%rax; ret");  // four bytes and ret: ends exactly
// Vector instruction with a RIP-relative operand and a prefix.
FUNCTION(subject_vector, "movsd subject_double(%rip),%xmm0; cvttsd2si %xmm0,%rax; add %rdi,%rax; ret");

// What must be refused.
FUNCTION(subject_loop_into,
         "mov %rdi,%rax; 1: inc %rax; cmp $1000,%rax; jl 1b; ret");  // branches into its first bytes
FUNCTION(subject_jrcxz, "mov %rdi,%rcx; jrcxz 1f; mov $1,%eax; ret; 1: xor %eax,%eax; ret");
FUNCTION(subject_undecodable, ".byte 0x06,0x06,0x06,0x06,0x06,0x06; ret");
FUNCTION(subject_breakpoint, "int3; mov %rdi,%rax; lea 1(%rax),%rax; ret");
FUNCTION(subject_entered_from_elsewhere, "nop; nop; subject_skip: mov %rdi,%rax; lea 1(%rax),%rax; ret");
FUNCTION(subject_enters_elsewhere, "add $5,%rdi; add $6,%rdi; .byte 0xe9; .long subject_skip - . - 4");
FUNCTION(subject_entered_shortly, "nop; nop; subject_skip_short: mov %rdi,%rax; lea 1(%rax),%rax; ret");
FUNCTION(subject_enters_shortly, "add $5,%rdi; add $6,%rdi; jmp subject_skip_short");
asm(".text\n .p2align 4\n .globl subject_no_bounds\n .type subject_no_bounds, @function\nsubject_no_bounds:\n"
    " lea 5(%rdi),%rax\n nop\n nop\n ret\n .size subject_no_bounds, . - subject_no_bounds\n");
// Too small, and another function begins right behind it.
asm(".text\n .globl subject_crowded\n .type subject_crowded, @function\nsubject_crowded:\n .cfi_startproc\n"
    " mov %rdi,%rax\n ret\n .cfi_endproc\n .size subject_crowded, . - subject_crowded\n"
    "subject_neighbour:\n .cfi_startproc\n mov $3,%eax\n ret\n .cfi_endproc\n");

asm(".data\n .globl subject_word\n .hidden subject_word\n .p2align 3\nsubject_word: .long 0x12345678\n "
    ".p2align 3\n"
    "subject_double: .double 20.0\nsubject_pointer: .quad subject_helper\n .text\n");
