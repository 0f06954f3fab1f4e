"""What differs between vendors, their projects, their tools and their reports."""
