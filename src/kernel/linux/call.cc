#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {

Result<std::string> Call::path(std::size_t i) const { return memory.read_string(args[i], vfs::path_max - 1); }

}  // namespace cloche::kernel::lnx
