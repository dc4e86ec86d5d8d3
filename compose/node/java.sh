# Sourced by the other scripts: which java the image has, and what RocketMQ needs of a java with modules.
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
modules=(
  --add-opens=java.base/java.lang=ALL-UNNAMED
  --add-opens=java.base/java.nio=ALL-UNNAMED
  --add-opens=java.base/java.util=ALL-UNNAMED
  --add-opens=java.base/jdk.internal.ref=ALL-UNNAMED
  --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
  --add-exports=java.base/jdk.internal.ref=ALL-UNNAMED
  --add-exports=java.base/sun.nio.ch=ALL-UNNAMED
)

# The published images have Java 8, which knows neither modules nor the unified log.
java_8=
if [ ! -e "${JAVA_HOME:-}/lib/modules" ] && [[ $("$java" -version 2>&1) == *'version "1.8.'* ]]; then
  java_8=yes
  modules=()
fi
