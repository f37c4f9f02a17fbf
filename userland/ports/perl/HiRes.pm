# Time::HiRes over system calls: the part of it that programs use.
package Time::HiRes;
use strict;
our $VERSION = '1.9777';
use Exporter 'import';
our @EXPORT_OK = qw(time sleep usleep nanosleep tv_interval gettimeofday clock_gettime clock_getres clock
  CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID stat lstat utime alarm ualarm);

use constant { CLOCK_REALTIME => 0, CLOCK_MONOTONIC => 1, CLOCK_PROCESS_CPUTIME_ID => 2 };
use constant { SYS_clock_gettime64 => 403, SYS_clock_getres64 => 406 };

sub _clock {
    my ($call, $clock) = @_;
    my $answer = "\0" x 16;
    return -1 if CORE::syscall($call, $clock, $answer) < 0;
    return unpack 'q<q<', $answer;
}
sub clock_gettime { my ($s, $ns) = _clock(SYS_clock_gettime64, $_[0] // 0); $s + $ns / 1e9 }
sub clock_getres { my ($s, $ns) = _clock(SYS_clock_getres64, $_[0] // 0); $s + $ns / 1e9 }
sub clock { clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }
sub time () { clock_gettime(CLOCK_REALTIME) }
sub gettimeofday () {
    my ($s, $ns) = _clock(SYS_clock_gettime64, CLOCK_REALTIME);
    return wantarray ? ($s, int($ns / 1000)) : $s + $ns / 1e9;
}
sub sleep {
    my $start = clock_gettime(CLOCK_MONOTONIC);
    @_ ? select(undef, undef, undef, $_[0]) : CORE::sleep();
    return clock_gettime(CLOCK_MONOTONIC) - $start;
}
sub usleep { 1e6 * Time::HiRes::sleep($_[0] / 1e6) }
sub nanosleep { 1e9 * Time::HiRes::sleep($_[0] / 1e9) }
sub tv_interval {
    my ($from, $to) = (@_, [gettimeofday()]);
    return $to->[0] - $from->[0] + ($to->[1] - $from->[1]) / 1e6;
}
sub stat { CORE::stat(@_ ? $_[0] : $_) }
sub lstat { CORE::lstat(@_ ? $_[0] : $_) }
sub utime { CORE::utime($_[0], $_[1], @_[2 .. $#_]) }
sub alarm { CORE::alarm($_[0] > 0 && $_[0] < 1 ? 1 : $_[0]) }
sub ualarm { alarm($_[0] / 1e6) }
1;
