# The tag that a C++ throw throws: compiled code names it, the program that is linked defines it.
	.section	.text.__cpp_exception,"",@
	.globl	__cpp_exception
	.tagtype	__cpp_exception i32
__cpp_exception:
