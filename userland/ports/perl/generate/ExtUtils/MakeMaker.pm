# In the place of the real one: what is wanted of a Makefile.PL here is only the files that it writes: tables of constants,
# and those of Encode's, which it writes where the real one would ask it for more of the Makefile.
package ExtUtils::MakeMaker;
use File::Spec;
our $VERSION = '7.70';
sub import {
    no strict 'refs';
    my $caller = caller;
    *{"${caller}::$_"} = sub { 1 } for qw(prompt writeMakefile);
    *{"${caller}::WriteMakefile"} = \&write_makefile;
}
sub write_makefile {
    return 1 unless MY->can('post_initialize');
    @MY::ISA = 'File::Spec';
    my $self = bless {O_FILES => [], OBJ_EXT => '.o', SOURCE => ''}, 'MY';
    $self->$_ for qw(post_initialize postamble);
}
1;
