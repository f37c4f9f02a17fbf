# The tag that a longjmp throws: compiled code names it, the program that is linked defines it.
	.section	.text.__c_longjmp,"",@
	.globl	__c_longjmp
	.tagtype	__c_longjmp i32
__c_longjmp:
