"""What each op is: public function, kernel, dtype rule, gradient, in one block."""
