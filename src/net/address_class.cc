// SPDX-License-Identifier: Apache-2.0
#include "net/address_class.h"

#include <algorithm>
#include <array>

namespace cloche::net {
namespace {

using kernel::IpAddress;

struct Range4 {
  std::array<std::uint8_t, 4> base;
  unsigned bits;
  AddressClass kind;
};

// IANA IPv4 Special-Purpose Address Registry.
constexpr std::array ranges4{
    Range4{{0, 0, 0, 0}, 8, AddressClass::unspecified},
    Range4{{10, 0, 0, 0}, 8, AddressClass::private_use},
    Range4{{100, 64, 0, 0}, 10, AddressClass::shared},
    Range4{{100, 100, 100, 200}, 32, AddressClass::link_local},
    Range4{{127, 0, 0, 0}, 8, AddressClass::loopback},
    Range4{{168, 63, 129, 16}, 32, AddressClass::link_local},
    Range4{{169, 254, 0, 0}, 16, AddressClass::link_local},
    Range4{{172, 16, 0, 0}, 12, AddressClass::private_use},
    Range4{{192, 0, 0, 0}, 24, AddressClass::reserved},
    Range4{{192, 0, 2, 0}, 24, AddressClass::reserved},
    Range4{{192, 88, 99, 0}, 24, AddressClass::reserved},
    Range4{{192, 168, 0, 0}, 16, AddressClass::private_use},
    Range4{{198, 18, 0, 0}, 15, AddressClass::reserved},
    Range4{{198, 51, 100, 0}, 24, AddressClass::reserved},
    Range4{{203, 0, 113, 0}, 24, AddressClass::reserved},
    Range4{{224, 0, 0, 0}, 4, AddressClass::multicast},
    Range4{{240, 0, 0, 0}, 4, AddressClass::reserved},
};

bool has_prefix(const std::uint8_t* bytes, const std::uint8_t* prefix, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(prefix, prefix + whole, bytes)) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((bytes[whole] ^ prefix[whole]) & mask) == 0;
}

IpAddress v4_at(const IpAddress& address, std::size_t at, std::uint8_t flip = 0) {
  std::array<std::uint8_t, 4> octets{};
  for (std::size_t i = 0; i < octets.size(); ++i)
    octets[i] = static_cast<std::uint8_t>(address.bytes[at + i] ^ flip);
  return IpAddress::v4(octets);
}

AddressClass class_of_v4(const IpAddress& address) {
  const std::uint8_t* bytes = address.bytes.data() + 12;
  AddressClass kind = AddressClass::global;
  unsigned longest = 0;
  for (const Range4& range : ranges4) {
    if (range.bits > longest && has_prefix(bytes, range.base.data(), range.bits)) {
      kind = range.kind;
      longest = range.bits;
    }
  }
  return kind;
}

template <typename... Byte>
bool begins(const IpAddress& address, unsigned bits, Byte... byte) {
  const std::array<std::uint8_t, sizeof...(Byte)> prefix{static_cast<std::uint8_t>(byte)...};
  return has_prefix(address.bytes.data(), prefix.data(), bits);
}

}  // namespace

std::optional<IpAddress> embedded_address(const IpAddress& address) {
  if (address.is_v4()) return std::nullopt;
  if (begins(address, 16, 0x20, 0x02)) return v4_at(address, 2);                     // 6to4
  if (begins(address, 32, 0x20, 0x01, 0x00, 0x00)) return v4_at(address, 12, 0xff);  // Teredo
  if (begins(address, 96, 0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0))
    return v4_at(address, 12);
  if (begins(address, 48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01)) return v4_at(address, 12);
  const auto& bytes = address.bytes;
  const bool isatap =
      (bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
  if (isatap) return v4_at(address, 12);
  const bool compatible =
      std::all_of(bytes.begin(), bytes.begin() + 12, [](std::uint8_t b) { return b == 0; });
  if (compatible && (bytes[12] != 0 || bytes[13] != 0)) return v4_at(address, 12);
  return std::nullopt;
}

AddressClass class_of(const IpAddress& address) {
  if (address.is_v4()) return class_of_v4(address);
  if (address.is_any()) return AddressClass::unspecified;
  if (address.is_loopback()) return AddressClass::loopback;
  if (const auto inner = embedded_address(address)) {
    const AddressClass kind = class_of_v4(*inner);
    // What leads into a tunnel is not simply the address that is inside.
    return kind == AddressClass::global ? AddressClass::reserved : kind;
  }
  if (begins(address, 8, 0xff)) return AddressClass::multicast;
  if (begins(address, 10, 0xfe, 0x80)) return AddressClass::link_local;
  if (begins(address, 48, 0xfd, 0x00, 0x0e, 0xc2, 0x00, 0x00)) return AddressClass::private_use;
  if (begins(address, 7, 0xfc) || begins(address, 10, 0xfe, 0xc0)) return AddressClass::private_use;
  if (begins(address, 32, 0x20, 0x01, 0x0d, 0xb8) || begins(address, 23, 0x20, 0x01, 0x00) ||
      begins(address, 20, 0x3f, 0xff, 0x00) || !begins(address, 3, 0x20))
    return AddressClass::reserved;
  return AddressClass::global;
}

std::string_view name_of(AddressClass kind) {
  switch (kind) {
    case AddressClass::global: return "public";
    case AddressClass::unspecified: return "unspecified";
    case AddressClass::loopback: return "loopback";
    case AddressClass::private_use: return "private";
    case AddressClass::link_local: return "link-local";
    case AddressClass::shared: return "carrier-grade NAT";
    case AddressClass::multicast: return "multicast";
    case AddressClass::reserved: return "reserved";
  }
  return "reserved";
}

}  // namespace cloche::net
