# In the place of the real one: what a Makefile.PL tries out is compiled for guests.
package ExtUtils::CBuilder;
our $VERSION = '0.280240';
sub new { bless {}, shift }
sub have_compiler { 1 }
sub compile {
    my ($self, %how) = @_;
    my $object = "$how{source}.o";
    my @flags = ref $how{extra_compiler_flags} ? @{$how{extra_compiler_flags}} : grep length, $how{extra_compiler_flags} // '';
    system($ENV{CC}, '-w', @flags, '-c', '-o', $object, $how{source}) == 0 or die "it does not compile\n";
    return $object;
}
sub link_executable {
    my ($self, %how) = @_;
    my ($object) = ref $how{objects} ? @{$how{objects}} : $how{objects};
    system($ENV{CC}, '-o', "$object.wasm", $object) == 0 or die "it does not link\n";
    return "$object.wasm";
}
1;
