#include "/etc/shadow"

int main() {}
