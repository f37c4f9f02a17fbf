# In the place of the real one: what is wanted of a Makefile.PL here is only the tables of constants that it writes.
package ExtUtils::MakeMaker;
our $VERSION = '7.70';
sub import {
    no strict 'refs';
    my $caller = caller;
    *{"${caller}::$_"} = sub { 1 } for qw(WriteMakefile prompt writeMakefile);
}
1;
