// As the riscv32 kernel has it: no restorer.
struct k_sigaction {
  void (*handler)(int);
  unsigned long flags;
  unsigned mask[2];
};
