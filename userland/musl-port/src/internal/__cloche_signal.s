# Called by the kernel in the middle of any function. Leaf functions use up to 128 bytes below the stack pointer without
# moving it, so the handlers start below those.
	.globaltype	__stack_pointer, i32
	.functype	__cloche_run_signals () -> ()
	.section	.text.__cloche_signal,"",@
	.globl	__cloche_signal
	.type	__cloche_signal,@function
__cloche_signal:
	.functype	__cloche_signal () -> ()
	global.get	__stack_pointer
	i32.const	128
	i32.sub
	global.set	__stack_pointer
	call	__cloche_run_signals
	global.get	__stack_pointer
	i32.const	128
	i32.add
	global.set	__stack_pointer
	end_function
