package det_test

// golden are the hashes of the results, see TestEveryFunctionGivesTheSameOnEveryArchitecture.
var golden = map[string]struct{ few, many uint64 }{
	"Sin":   {0xa4fece03c8a800af, 0x9572964ed646fdbd},
	"Cos":   {0xe10904eef902ea0, 0xb8cccaf5863f6143},
	"Tan":   {0xa91e01500b7f120a, 0x7bc7ebc798de7c7f},
	"Asin":  {0x533914108e0c0fe9, 0xfc1c0745149a4806},
	"Acos":  {0xe7861704ba88e915, 0x98afbcf6d71f32df},
	"Atan":  {0x292882ef36758a44, 0x5a9cb6e61556f94},
	"Atan2": {0x84c37a74fd880214, 0xe015d9e0dbeb7474},
	"Exp":   {0xa047b19159d06ed4, 0x5afc2443d070633f},
	"Log":   {0x2fd0ea0094891656, 0x7fcf516883391cc8},
	"Pow":   {0x8e629743c85f165d, 0xaddd7fa47820532e},
	"Hypot": {0xd7eff29e3e12454f, 0x5ee7f4fe292d837e},
	"Cbrt":  {0xb03d361ebe4b2a84, 0x8a35327d8bea5ec0},
}
