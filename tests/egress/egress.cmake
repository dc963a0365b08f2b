# The egress proxy with real sockets, in network namespaces of the tests' own.
# Needs root.
find_package(OpenSSL REQUIRED)
add_executable(egress_proxy_test egress/attack_http_test.cc
  egress/attack_test.cc egress/authority_test.cc egress/filter_test.cc
  egress/inspect_fixture.cc
  egress/inspect_refused_test.cc egress/inspect_test.cc egress/proxy_test.cc
  egress/secrets_test.cc egress/service_test.cc egress/throughput_test.cc
  support/network/tls_world.cc support/network/world.cc)
target_link_libraries(egress_proxy_test PRIVATE sandglass_sandbox_egress
  sandglass_sandbox OpenSSL::SSL GTest::gmock)
sandglass_add_suites(egress_proxy_test egress.
  LABELS egress TIMEOUT 300)
