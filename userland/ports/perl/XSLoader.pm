# Extensions are linked into this perl, which defines the bootstrap function of each that it has.
package XSLoader;
our $VERSION = '0.32';

sub load {
    my $module = @_ ? $_[0] : scalar caller;
    @_ = ($module) unless @_;
    my $bootstrap = "${module}::bootstrap";
    goto &$bootstrap if defined &$bootstrap || define_bootstrap($module);
    require Carp;
    Carp::croak("Can't load module $module: it is not part of this perl, and nothing can be loaded into it");
}
*bootstrap_inherit = \&load;

package DynaLoader;
our $VERSION = '1.56';
sub bootstrap { goto &XSLoader::load }
sub bootstrap_inherit { goto &XSLoader::load }
sub dl_load_flags { 0 }
$INC{'DynaLoader.pm'} ||= $INC{'XSLoader.pm'};
1;
