# shellcheck shell=sh
# Installs jars into layer/, with all that they need at run time; the arguments
# are Maven coordinates, group:artifact:version. REGISTRY is a Maven repository.
set -e
umask 022
mkdir -p /tmp/ivy
root=$(printf '%s' "$REGISTRY" | sed 's/&/\&amp;/g; s/</\&lt;/g')
# A version is one, or a range where a library asks for such; never "the newest".
cat > /tmp/ivy/settings.xml <<END
<ivysettings>
  <settings defaultResolver="registry"/>
  <caches defaultCacheDir="/tmp/ivy/cache"/>
  <version-matchers usedefaults="false"><exact-vm/><range-vm/></version-matchers>
  <resolvers>
    <ibiblio name="registry" m2compatible="true" root="${root%/}/"/>
  </resolvers>
</ivysettings>
END
{
  echo '<ivy-module version="2.0">'
  echo '<info organisation="sandglass" module="libraries"/>'
  echo '<configurations><conf name="default"/></configurations><dependencies>'
  for library; do
    group=${library%%:*}
    rest=${library#*:}
    printf '<dependency org="%s" name="%s" rev="%s" conf="default->default"/>\n' \
      "$group" "${rest%%:*}" "${rest#*:}"
  done
  echo '</dependencies></ivy-module>'
} > /tmp/ivy/ivy.xml
# Java reads no http_proxy, and would pass it by for 127.0.0.1.
proxy=${https_proxy:-}
proxy=${proxy#http://}
proxy=${proxy%/}
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS
trust=
if [ -f registry-ca.jks ]; then
  trust=-Djavax.net.ssl.trustStore=$PWD/registry-ca.jks
fi
# shellcheck disable=SC2086 # one word, or none
exec /usr/bin/java $trust -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
  -Dhttp.proxyHost="${proxy%:*}" -Dhttp.proxyPort="${proxy##*:}" \
  -Dhttps.proxyHost="${proxy%:*}" -Dhttps.proxyPort="${proxy##*:}" \
  -Dhttp.nonProxyHosts= \
  -jar /usr/share/java/ivy.jar -settings /tmp/ivy/settings.xml \
  -ivy /tmp/ivy/ivy.xml -types jar bundle -retrieve \
  "$PWD/layer/[organisation].[artifact]-[revision](-[classifier]).[ext]" 2>&1
