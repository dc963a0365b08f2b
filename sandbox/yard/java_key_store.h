#ifndef SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_
#define SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_

#include <string>
#include <string_view>

namespace sandglass::sandbox {

// In images: what kTrustedInJail (sandbox.h) has, for JVMs.
inline constexpr char kJvmTrustInJail[] = "/etc/sandglass/trusted.jks";

// The certificates of a PEM text as a Java key store (JKS), in which a JVM
// trusts them; its password is "changeit", as of the JDK's own. What isn't a
// certificate is left out.
std::string MakeJavaKeyStore(std::string_view pem);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_
