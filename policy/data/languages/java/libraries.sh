# shellcheck shell=sh
# Installs jars into layer/, with all that they need at run time; the arguments
# are Maven coordinates, group:artifact:version. REGISTRY is the repository.
set -e
umask 022
mkdir -p /tmp/maven
{
  printf '<settings><mirrors><mirror><id>registry</id><mirrorOf>*</mirrorOf>'
  printf '<url>%s</url></mirror></mirrors></settings>\n' \
    "$(printf '%s' "$REGISTRY" | sed 's/&/\&amp;/g; s/</\&lt;/g')"
} > /tmp/maven/settings.xml
{
  echo '<project xmlns="http://maven.apache.org/POM/4.0.0">'
  echo '<modelVersion>4.0.0</modelVersion><groupId>sandglass</groupId>'
  echo '<artifactId>libraries</artifactId><version>1</version>'
  echo '<packaging>pom</packaging><dependencies>'
  for library; do
    group=${library%%:*}
    rest=${library#*:}
    printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId>' \
      "$group" "${rest%%:*}"
    printf '<version>%s</version></dependency>\n' "${rest#*:}"
  done
  echo '</dependencies></project>'
} > /tmp/maven/pom.xml
# Java reads no http_proxy.
proxy=${https_proxy:-}
proxy=${proxy#http://}
proxy=${proxy%/}
if [ -n "$proxy" ]; then
  for scheme in http https; do
    MAVEN_OPTS="$MAVEN_OPTS -D$scheme.proxyHost=${proxy%:*}"
    MAVEN_OPTS="$MAVEN_OPTS -D$scheme.proxyPort=${proxy##*:}"
  done
fi
export MAVEN_OPTS="$MAVEN_OPTS -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
export MAVEN_SKIP_RC=1
# One named version, since the newest is another tomorrow.
mvn --batch-mode --no-transfer-progress --settings /tmp/maven/settings.xml \
  --file /tmp/maven/pom.xml -Dmaven.repo.local=/tmp/maven/repository \
  org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
  -DincludeScope=runtime -DoutputDirectory="$PWD/layer" 2>&1
