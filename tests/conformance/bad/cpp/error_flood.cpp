#define A1 none.x; none.x; none.x; none.x; none.x; none.x; none.x; none.x;
#define A2 A1 A1 A1 A1 A1 A1 A1 A1 A1 A1
#define A3 A2 A2 A2 A2 A2 A2 A2 A2 A2 A2
#define A4 A3 A3 A3 A3 A3 A3 A3 A3 A3 A3
#define F(n) void f##n() { struct { } none; A4 }

F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)

int main() {}
