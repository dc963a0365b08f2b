#ifndef SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_
#define SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_

#include <string>
#include <string_view>

namespace sandglass::sandbox {

// Where images have the content of kTrustedInJail (sandbox.h) in a form for
// JVMs.
inline constexpr char kJvmTrustInJail[] = "/etc/sandglass/trusted.jks";

// Makes a Java key store (JKS) in which a JVM trusts the certificates of a PEM
// text. Its password is "changeit", like that of the JDK's own. Whatever in the
// text isn't a certificate is left out.
std::string MakeJavaKeyStore(std::string_view pem);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_JAVA_KEY_STORE_H_
